-- What one partition needs: sessions to wake and timers to fire; empty while nothing is overdue, or another process has
-- found it. Sessions and timers come with their scores: see ``put_off_score``.
local lock, waiting, leased, timers = unpack(KEYS)
local lock_ms, overdue_ms, again_ms, limit = unpack(ARGV)

if redis.call('EXISTS', waiting, leased, timers) == 0 then return {} end
local now = now_ms()
local function due(set, later_ms)
  return redis.call('ZRANGEBYSCORE', set, '-inf', int(now - later_ms), 'WITHSCORES', 'LIMIT', 0, limit)
end
local waits, expired, due_timers = due(waiting, tonumber(overdue_ms)), due(leased, 0), due(timers, 0)
if #waits + #expired + #due_timers == 0 then return {} end
if not redis.call('SET', lock, '1', 'NX', 'PX', lock_ms) then return {} end
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
return {int(now), waits, members, due_timers}
