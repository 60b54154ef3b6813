-- Put a dead outcome back into its partition's stream, once: whoever comes second finds it gone. ``group``: the consumer
-- group that gave it up, which alone applies it now: the others had it when it came first.
local dead, outcomes = unpack(KEYS)
local entry_id, group = unpack(ARGV)

local entry = redis.call('XRANGE', dead, entry_id, entry_id)[1]
if not entry then return again and 1 or 0 end
local fields = {}
for i = 1, #entry[2], 2 do
  local name = entry[2][i]
  if name == 'id' or name == 'o' then
    fields[#fields + 1] = name
    fields[#fields + 1] = entry[2][i + 1]
  end
end
redis.call('XADD', outcomes, '*', 'group', group, unpack(fields))
redis.call('XDEL', dead, entry_id)
return 1
