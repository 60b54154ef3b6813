-- Put an errand into its doer's list, which does not outlive those who wait for an answer.
local list, seconds, errand = KEYS[1], tonumber(ARGV[1]), ARGV[2]
if again and redis.call('LPOS', list, errand) then return 1 end
redis.call('RPUSH', list, errand)
if redis.call('TTL', list) < seconds then redis.call('EXPIRE', list, int(seconds)) end
return 1
