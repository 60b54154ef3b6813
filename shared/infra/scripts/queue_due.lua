-- Put members into a sorted set of work, behind all that waits there already; those that are in it keep their place.
local due = unpack(KEYS)
for _, member in ipairs(ARGV) do redis.call('ZADD', due, 'NX', int(now_ms()), member) end
return 1
