-- What one step of a turn stores, all of it or nothing: the task's record, one entry of the ledger, finished steps of the
-- journal, and events. With none of them it only asks: is the lease ours, what time is it, is anybody to stop?
-- ``version``: of the record that is replaced; '' leaves it as it is. An ended task stays ended.
-- ``write``: 'open' stores the intent of a write before its call, only if it is new or its status one of ``known`` (I3),
-- and stretches the lease over the call; not where a signal or a stop waits, unless those are ``heeded`` already.
-- 'settle' replaces an entry whose status is ``known``; the lease is as short as any again, so that nobody waits for a
-- call that is settled, should this owner die.
local lease, signals, turns, journal, events, record, ledger, leased, begun = unpack(KEYS)
local owner, fence, kept, version, json, state = unpack(ARGV, 1, 6)
local write, key, known, status, entry, ms, member, heeded, steps = unpack(ARGV, 7, 15)

if not holds(lease, owner, fence) then return {'lost'} end
local last = 15 + 3 * steps
local row = status .. '\n' .. entry
local stored = write ~= '' and redis.call('HGET', ledger, key)

-- Whether one of the newest entries of a stream has these values, in the order of its fields.
local function holds_entry(stream, ...)
  local wanted = {...}
  for _, found in ipairs(redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 100)) do
    local same = true
    for i, value in ipairs(wanted) do same = same and found[2][2 * i] == value end
    if same then return true end
  end
  return false
end

local function is_stored()
  if write ~= '' then return stored == row end
  if version ~= '' then
    local now = redis.call('HMGET', record, 'version', 'json')
    return now[1] == int(version + 1) and now[2] == json
  end
  if steps ~= '0' then return holds_entry(journal, ARGV[16], ARGV[17], ARGV[18]) end
  return #ARGV == last or holds_entry(events, ARGV[last + 1])
end

if again and is_stored() then return pulse(signals, turns) end
if version ~= '' then
  local now = redis.call('HMGET', record, 'version', 'ended')
  if now[1] ~= version or now[2] ~= '0' then return {'conflict'} end
end
if write == 'open' then
  if heeded == '0' and (stop_reason(KEYS[#KEYS]) ~= '' or urgent(signals, begun)) then
    local told = pulse(signals, turns)
    told[1] = 'held'
    return told
  end
  local before = stored and ' ' .. string.match(stored, '^[^\n]*') .. ' '
  if before and not string.find(known, before, 1, true) then return {'conflict'} end
elseif write == 'settle' and (not stored or string.match(stored, '^[^\n]*') ~= known) then
  return {'conflict'}
end

if version ~= '' then
  enlist(record, state, '0')
  redis.call('HSET', record, 'json', json, 'version', version + 1, 'state', state)
end
for i = 16, last, 3 do
  redis.call('XADD', journal, '*', 'key', ARGV[i], 'kind', ARGV[i + 1], 'data', ARGV[i + 2])
end
if write ~= '' then
  redis.call('HSET', ledger, key, row)
  local ends = now_ms() + ms
  if write == 'open' then ends = math.max(ends, tonumber(redis.call('HGET', lease, 'until'))) end
  redis.call('HSET', lease, 'until', int(ends))
  redis.call('ZADD', leased, int(ends), member)
end
emit(events, kept, last + 1, #ARGV)
return pulse(signals, turns)
