-- Put members into a sorted set of work, to be looked at in a while. ``how`` is ZADD's: 'NX' leaves those that are in it
-- where they stand, 'CH' gives all of them that moment.
local due = unpack(KEYS)
local how, later_ms = unpack(ARGV)
for i = 3, #ARGV do redis.call('ZADD', due, how, int(now_ms() + later_ms), ARGV[i]) end
return 1
