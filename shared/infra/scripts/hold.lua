-- Take or keep a short lock: 1 if it is the owner's now, 0 if it is another's.
local lock, owner, ms = KEYS[1], ARGV[1], ARGV[2]
local holder = redis.call('GET', lock)
if holder and holder ~= owner then return 0 end
redis.call('SET', lock, owner, 'PX', ms)
return 1
