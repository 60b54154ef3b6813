-- Append finished steps to the journal and publish events, in one step. Repeated, it finds its first step there.
local lease, signals, turns, journal, events = unpack(KEYS)
local owner, fence, kept, steps = unpack(ARGV)

-- Whether one of the newest entries of a stream has these values, in the order of its fields.
local function holds_entry(stream, ...)
  local wanted = {...}
  for _, row in ipairs(redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 100)) do
    local same = true
    for i, value in ipairs(wanted) do same = same and row[2][2 * i] == value end
    if same then return true end
  end
  return false
end

local function appended(last)
  if steps ~= '0' then return holds_entry(journal, ARGV[5], ARGV[6], ARGV[7]) end
  return #ARGV == last or holds_entry(events, ARGV[last + 1])
end

if not holds(lease, owner, fence) then return {'lost'} end
local last = 4 + 3 * steps
if again and appended(last) then return pulse(signals, turns) end
for i = 5, last, 3 do
  redis.call('XADD', journal, '*', 'key', ARGV[i], 'kind', ARGV[i + 1], 'data', ARGV[i + 2])
end
emit(events, kept, last + 1, #ARGV)
return pulse(signals, turns)
