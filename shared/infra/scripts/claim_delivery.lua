-- Take a due line for a while, unless it has been taken or put off since it was seen. The end of the claim is its token.
local deliveries = unpack(KEYS)
local member, seen, lease_ms = unpack(ARGV)

if redis.call('ZSCORE', deliveries, member) ~= seen then return '' end
local until_ms = int(math.max(now_ms() + lease_ms, seen + 1))
redis.call('ZADD', deliveries, until_ms, member)
return until_ms
