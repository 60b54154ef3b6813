-- Have a member of a sorted set of work looked at again in a while.
local due = unpack(KEYS)
local member, later_ms = unpack(ARGV)
redis.call('ZADD', due, int(now_ms() + tonumber(later_ms)), member)
return 1
