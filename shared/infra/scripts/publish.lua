-- Store the record as it now is, if nobody changed it meanwhile, and publish events. An ended task stays ended.
local lease, signals, turns, record, events = unpack(KEYS)
local owner, fence, kept, version, json, state = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
local known = redis.call('HMGET', record, 'version', 'ended', 'json')
if again and known[1] == int(version + 1) and known[3] == json then return pulse(signals, turns) end
if known[1] ~= version or known[2] ~= '0' then return {'conflict'} end
enlist(record, state, '0')
redis.call('HSET', record, 'json', json, 'version', version + 1, 'state', state)
emit(events, kept, 7, #ARGV)
return pulse(signals, turns)
