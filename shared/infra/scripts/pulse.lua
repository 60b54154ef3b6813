-- Is the lease still ours, what time is it, and does anybody want the task to stop? Reads only.
local lease, signals, turns = unpack(KEYS)
local owner, fence = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
return pulse(signals, turns)
