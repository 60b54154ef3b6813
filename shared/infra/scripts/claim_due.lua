-- Take what is due from a sorted set of work, for a while: nobody else gets it before the claim ends.
-- ``age_ms``: how long ago its score has to be; none where the score says when it is due.
local due = unpack(KEYS)
local most, claim_ms, age_ms = unpack(ARGV)

if redis.call('EXISTS', due) == 0 then return {} end
local since = now_ms() - (age_ms or 0)
local members = redis.call('ZRANGEBYSCORE', due, '-inf', int(since), 'LIMIT', 0, most)
local row = {}
for _, member in ipairs(members) do row[#row + 1], row[#row + 2] = int(since + claim_ms), member end
if #row > 0 then redis.call('ZADD', due, 'XX', unpack(row)) end
return members
