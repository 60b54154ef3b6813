-- Replace a ledger entry whose status is what the caller believes.
local lease, signals, turns, ledger, events = unpack(KEYS)
local owner, fence, kept, key, before, status, entry = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
local known = redis.call('HGET', ledger, key)
if again and known == status .. '\n' .. entry then return pulse(signals, turns) end
if not known or string.match(known, '^[^\n]*') ~= before then return {'conflict'} end
redis.call('HSET', ledger, key, status .. '\n' .. entry)
emit(events, kept, 8, #ARGV)
return pulse(signals, turns)
