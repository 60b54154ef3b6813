-- Read one partition's outcomes as its only reader: first what was handed out and never settled, then what is new.
-- A partition without a reader is taken over, and with it everything its last reader had in hand.
local reader, outcomes = unpack(KEYS)
local owner, lease_ms, group, consumer, count, groups, by_digest = unpack(ARGV)

local held = redis.call('GET', reader)
if held and held ~= owner then return {'other'} end
if not held or redis.call('PTTL', reader) < lease_ms / 2 then
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

local entries = taken('0')
local tries = {}
if #entries > 0 then
  for _, row in ipairs(redis.call('XPENDING', outcomes, group, '-', '+', count)) do tries[row[1]] = row[4] end
else
  entries = taken('>')
end
local newest = redis.call('XREVRANGE', outcomes, '+', '-', 'COUNT', 1)
local reply = {'ok', newest[1] and newest[1][1] or '0-0'}
-- An outcome with a digest is handed out as that alone, as one text of three lines; a second time as it is.
-- A fourth line says where it stands in its task's trace, if it has one.
local function digest(entry)
  local header, case, trace
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'h' then header = entry[2][i + 1] end
    if entry[2][i] == 'c' then case = entry[2][i + 1] end
    if entry[2][i] == 't' then trace = entry[2][i + 1] end
  end
  if not header or not case or header == '' then return nil end
  if string.find(header, '\n', 1, true) or string.find(case, '\n', 1, true) then return nil end
  local short = entry[1] .. '\n' .. header .. '\n' .. case
  return trace and not string.find(trace, '\n', 1, true) and short .. '\n' .. trace or short
end
for _, entry in ipairs(entries) do
  local tried = tries[entry[1]] or 1
  local short = by_digest == '1' and tried == 1 and entry[2] and digest(entry)
  reply[#reply + 1] = short or {entry[1], tried, entry[2] or {}}
end
return reply
