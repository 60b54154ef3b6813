-- What one step of a turn stores, all of it or nothing: the task's record, one entry of the ledger, finished steps of the
-- journal, and events. With none of them it only asks: is the lease ours, what time is it, is anybody to stop?
-- ``version``: of the record that is replaced; '' leaves it as it is. An ended task stays ended.
-- ``write``: 'open' stores the intent of a write before its call, only if it is new or its status one of ``allowed`` (I3),
-- and stretches the lease over the call; not where a signal or a stop waits, unless those are ``heeded`` already.
-- 'settle' replaces an entry whose status is ``allowed``; the lease is as short as any again, so that nobody waits for a
-- call that is settled, should this owner die.
local lease, signals, turns, journal, events, record, ledger, leased, begun, stopped = unpack(KEYS)
local owner, fence, kept, version, json, state = unpack(ARGV, 1, 6)
local steps, count, event_entry = unpack(ARGV, 7, 9) -- one row of steps, or none; how many events, and their entry
local write, key, allowed, status, entry, ms, member, heeded = unpack(ARGV, 10, 17) -- none for a step without a write

local now_owner, now_fence, before_ms = unpack(redis.call('HMGET', lease, 'owner', 'fence', 'until'))
if now_owner ~= owner or now_fence ~= fence then return {'lost'} end
local row, reason = write and status .. '\n' .. entry, stop_reason(stopped)
local stored = write and redis.call('HGET', ledger, key)

if again then
  -- Whether one of the newest entries of a stream has this value in its only field.
  local function holds_entry(stream, value)
    for _, found in ipairs(redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 100)) do
      if found[2][2] == value then return true end
    end
    return false
  end

  local function is_stored()
    if write then return stored == row end
    if version ~= '' then
      local now = redis.call('HMGET', record, 'version', 'json')
      return now[1] == int(version + 1) and now[2] == json
    end
    if steps ~= '' then return holds_entry(journal, steps) end
    return count == '0' or holds_entry(events, event_entry)
  end

  if is_stored() then
    if write then redis.call('HSET', ledger, key, row) end -- WAIT confirms what was written on its own connection alone
    return pulse(signals, turns, reason)
  end
end
local now = version ~= '' and redis.call('HMGET', record, 'version', 'ended', 'listed', 'state')
if now and (now[1] ~= version or now[2] ~= '0') then return {'conflict'} end
if write == 'open' then
  if heeded == '0' and (reason ~= '' or first_cancel(signals, begun)) then
    local refusal = pulse(signals, turns, reason)
    refusal[1] = 'refused'
    return refusal
  end
  local before = stored and ' ' .. string.match(stored, '^[^\n]*') .. ' '
  if before and not string.find(allowed, before, 1, true) then return {'conflict'} end
elseif write == 'settle' and (not stored or string.match(stored, '^[^\n]*') ~= allowed) then
  return {'conflict'}
end

if now then
  move_in_lists(now[3], now[4], state, '0')
  redis.call('HSET', record, 'json', json, 'version', version + 1, 'state', state)
end
if steps ~= '' then redis.call('XADD', journal, '*', 'y', steps) end
if write then
  redis.call('HSET', ledger, key, row)
  local ends, before = now_ms() + ms, tonumber(before_ms)
  if (write == 'open' and ends > before) or (write == 'settle' and ends < before) then
    redis.call('HSET', lease, 'until', int(ends))
    redis.call('ZADD', leased, int(ends), member)
  end
end
append_events(events, kept, count, event_entry)
return pulse(signals, turns, reason)
