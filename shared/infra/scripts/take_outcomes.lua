-- Read one partition's outcomes as its only reader: first what was handed out and never settled, then what is new.
-- A partition without a reader is taken over, and with it everything its last reader had in hand. What is new is handed
-- out in the group's name, so that it is counted how often, unless the reader has outlived what it took here before: see
-- settle_outcomes. The reply says on which line of writes: what is learned from here on may be gone on another.
local reader, outcomes = unpack(KEYS)
local owner, lease_ms, group, consumer, count, groups, outlived = unpack(ARGV)

local reading = redis.call('GET', reader)
if reading and reading ~= owner then return {'other'} end
if not reading or redis.call('PTTL', reader) < lease_ms / 2 then
  -- A lock of seconds is worth no place in the log: after a restart whoever comes first reads, and what is learned is
  -- learned once, whoever reads it.
  pcall(redis.set_repl, redis.REPL_NONE)
  redis.call('SET', reader, owner, 'PX', lease_ms)
  pcall(redis.set_repl, redis.REPL_ALL)
end

local function taken(after)
  local read = redis.pcall('XREADGROUP', 'GROUP', group, consumer, 'COUNT', count, 'STREAMS', outcomes, after)
  if read and read.err then
    if string.find(read.err, 'NOGROUP', 1, true) then
      redis.call('XGROUP', 'CREATE', outcomes, group, '0', 'MKSTREAM')
      -- Whoever reads the same beside this group misses nothing that it settles first.
      for other in string.gmatch(groups, '%S+') do redis.pcall('XGROUP', 'CREATE', outcomes, other, '0') end
    end
    read = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', count, 'STREAMS', outcomes, after)
  end
  return read and read[1][2] or {}
end

local own
for _, info in ipairs(outlived == '1' and redis.pcall('XINFO', 'GROUPS', outcomes) or {}) do
  local of = {}
  for i = 1, #info, 2 do of[info[i]] = info[i + 1] end
  if of['name'] == group then own = of end
end
local entries = own and own['pending'] == 0 and {} or taken('0')
local tries, newest = {}, nil
if #entries > 0 then
  for _, row in ipairs(redis.call('XPENDING', outcomes, group, '-', '+', count)) do tries[row[1]] = row[4] end
else
  entries = own and redis.call('XRANGE', outcomes, '(' .. own['last-delivered-id'], '+', 'COUNT', count) or taken('>')
  newest = #entries < tonumber(count) and entries[#entries]
end
newest = newest or redis.call('XREVRANGE', outcomes, '+', '-', 'COUNT', 1)[1]
local reply = {'ok', newest and newest[1] or '0-0', line_of_writes()}
for _, entry in ipairs(entries) do reply[#reply + 1] = {entry[1], tries[entry[1]] or 1, entry[2] or {}} end
return reply
