-- Ended tasks that wait to be archived. Each is another's to take only after a while, should this taker die.
local unarchived = unpack(KEYS)
local limit, again_ms = unpack(ARGV)

if redis.call('EXISTS', unarchived) == 0 then return {} end
local now = now_ms()
local due = redis.call('ZRANGEBYSCORE', unarchived, '-inf', int(now), 'LIMIT', 0, limit)
for _, member in ipairs(due) do redis.call('ZADD', unarchived, 'XX', int(now + again_ms), member) end
return due
