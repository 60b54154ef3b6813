-- What one partition needs: sessions to wake and timers to fire; else how many outcomes are not applied yet.
-- Writes nothing while nothing is overdue.
local lock, waiting, leased, timers, outcomes = unpack(KEYS)
local lock_ms, overdue_ms, again_ms, limit = unpack(ARGV)

local now = now_ms()
local waits = redis.call('ZRANGEBYSCORE', waiting, '-inf', int(now - overdue_ms), 'LIMIT', 0, limit)
local expired = redis.call('ZRANGEBYSCORE', leased, '-inf', int(now), 'LIMIT', 0, limit)
local due = redis.call('ZRANGEBYSCORE', timers, '-inf', int(now), 'LIMIT', 0, limit)
local behind = redis.call('XLEN', outcomes)
if #waits + #expired + #due == 0 then return behind end
if not redis.call('SET', lock, '1', 'NX', 'PX', lock_ms) then return behind end
-- Whoever is woken now is not woken again at the next look: a fleet without room must not fill the queue.
for _, member in ipairs(waits) do redis.call('ZADD', waiting, 'XX', int(now + again_ms), member) end
for _, member in ipairs(expired) do redis.call('ZADD', leased, 'XX', int(now + again_ms), member) end
return {int(now), waits, expired, due, behind}
