-- Append finished steps to the journal and publish events, in one step.
local lease, signals, turns, journal, events = unpack(KEYS)
local owner, fence, kept, steps = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
local last = 4 + 3 * steps
for i = 5, last, 3 do
  redis.call('XADD', journal, '*', 'key', ARGV[i], 'kind', ARGV[i + 1], 'data', ARGV[i + 2])
end
emit(events, kept, last + 1, #ARGV)
return pulse(signals, turns)
