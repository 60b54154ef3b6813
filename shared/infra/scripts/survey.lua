-- What one partition needs: sessions to wake and timers to fire; else how many outcomes are not applied yet.
-- Writes nothing while nothing is overdue. Sessions and timers come with their scores: see ``looked_at_in``.
local lock, waiting, leased, timers, outcomes = unpack(KEYS)
local lock_ms, overdue_ms, again_ms, limit = unpack(ARGV)

local now = now_ms()
local waits = redis.call('ZRANGEBYSCORE', waiting, '-inf', int(now - overdue_ms), 'WITHSCORES', 'LIMIT', 0, limit)
local expired = redis.call('ZRANGEBYSCORE', leased, '-inf', int(now), 'LIMIT', 0, limit)
local due = redis.call('ZRANGEBYSCORE', timers, '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, limit)
local behind = redis.call('XLEN', outcomes)
if #waits + #expired + #due == 0 then return behind end
if not redis.call('SET', lock, '1', 'NX', 'PX', lock_ms) then return behind end
-- Whoever is found now is not looked up again at the next look: the queue is asked about them now and then, not always.
for i = 1, #waits, 2 do
  local meant = tonumber(waits[i + 1]) % 1 > 0
  redis.call('ZADD', waiting, 'XX', meant and looked_at_in(again_ms) or int(now + again_ms), waits[i])
end
for _, member in ipairs(expired) do redis.call('ZADD', leased, 'XX', int(now + again_ms), member) end
return {int(now), waits, expired, due, behind}
