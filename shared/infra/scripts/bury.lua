-- Put a turn that is given up to the dead letters of its partition, once.
local lease, record, dead_turns = unpack(KEYS)
local owner, fence, turn_id, letter = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
if redis.call('HGET', record, 'buried') ~= turn_id then
  redis.call('XADD', dead_turns, '*', 'letter', letter)
  redis.call('HSET', record, 'buried', turn_id)
end
return {'ok'}
