-- Put members into a sorted set of work, to be looked at in a while; replies with that moment (ms). ``how`` is ZADD's: 'NX'
-- leaves those that are in it where they stand, 'CH' gives all of them that moment, 'XX' puts waiting sessions off:
-- somebody else will wake them. 'EXTEND' gives that moment to those that are still in it.
local due = unpack(KEYS)
local how, later_ms = unpack(ARGV)
local at = how == 'XX' and put_off_score(later_ms) or int(now_ms() + later_ms)
local row = {}
for i = 3, #ARGV do row[#row + 1], row[#row + 2] = at, ARGV[i] end
if #row > 0 then redis.call('ZADD', due, how == 'EXTEND' and 'XX' or how, unpack(row)) end
return at
