-- Sessions that have been idle for so long. Each is another's to take only after a while, should this taker die.
local idle = unpack(KEYS)
local idle_ms, limit, again_ms = unpack(ARGV)

local since = now_ms() - idle_ms
local due = redis.call('ZRANGEBYSCORE', idle, '-inf', int(since), 'LIMIT', 0, limit)
for _, member in ipairs(due) do redis.call('ZADD', idle, 'XX', int(since + again_ms), member) end
return due
