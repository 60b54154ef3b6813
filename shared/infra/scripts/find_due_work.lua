-- What one partition needs: sessions to wake and timers to fire. First stands in how many milliseconds something will be
-- due (-1: nothing waits). Writes nothing while nothing is overdue.
-- Sessions and timers come with their scores: see ``put_off_score``.
local lock, waiting, leased, timers = unpack(KEYS)
local lock_ms, overdue_ms, again_ms, limit = unpack(ARGV)

if redis.call('EXISTS', waiting, leased, timers) == 0 then return {-1} end

local now = now_ms()
local soonest
local function due_in(set, later_ms)
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  local pause = first and tonumber(first) + later_ms - now
  if pause and (not soonest or pause < soonest) then soonest = pause end
  if not pause or pause > 0 then return {} end
  return redis.call('ZRANGEBYSCORE', set, '-inf', int(now - later_ms), 'WITHSCORES', 'LIMIT', 0, limit)
end
local waits, expired, due = due_in(waiting, tonumber(overdue_ms)), due_in(leased, 0), due_in(timers, 0)
if #waits + #expired + #due == 0 then return {int(math.max(0, soonest))} end
if not redis.call('SET', lock, '1', 'NX', 'PX', lock_ms) then return {0} end
-- Whoever is found now is not looked up again at the next look: the queue is asked about them now and then, not always.
for i = 1, #waits, 2 do
  local meant = tonumber(waits[i + 1]) % 1 > 0
  redis.call('ZADD', waiting, 'XX', meant and put_off_score(again_ms) or int(now + again_ms), waits[i])
end
local members = {}
for i = 1, #expired, 2 do
  members[#members + 1] = expired[i]
  redis.call('ZADD', leased, 'XX', int(now + again_ms), expired[i])
end
return {0, int(now), waits, members, due}
