-- Put a request into its doer's list, which does not outlive those who wait for an answer.
local list, seconds, request = KEYS[1], tonumber(ARGV[1]), ARGV[2]
if again and redis.call('LPOS', list, request) then return 1 end
redis.call('RPUSH', list, request)
if redis.call('TTL', list) < seconds then redis.call('EXPIRE', list, int(seconds)) end
return 1
