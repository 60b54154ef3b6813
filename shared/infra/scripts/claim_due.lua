-- Take what is due from a sorted set of work, for a while: nobody else gets it before the claim ends.
local due = unpack(KEYS)
local most, claim_ms = unpack(ARGV)

if redis.call('EXISTS', due) == 0 then return {} end
local now = now_ms()
local members = redis.call('ZRANGEBYSCORE', due, '-inf', int(now), 'LIMIT', 0, most)
for _, member in ipairs(members) do redis.call('ZADD', due, int(now + claim_ms), member) end
return members
