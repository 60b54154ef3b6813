-- Emit the outcome of an ended task for which none was ever emitted.
local lease, record, outcomes = unpack(KEYS)
local owner, fence, event_id, outcome = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
local known = redis.call('HMGET', record, 'ended', 'outcome')
if known[1] ~= '1' or known[2] then return {'ok', again and known[2] == event_id and 1 or 0} end
redis.call('XADD', outcomes, '*', 'id', event_id, 'o', outcome)
redis.call('HSET', record, 'outcome', event_id)
return {'ok', 1}
