-- Acknowledge outcomes (1), but none (0) on another ``line`` of writes than they were taken on: a promoted replica, or a
-- server that lost the end of its log, may lack what was learned from them, and they are to be taken again. Move the hopeless ones to the dead letters, and trim what nobody needs any more.
-- Of what was acknowledged, the newest entry stays: at most one a partition.
-- ``count`` outcomes up to ``through`` were read. What of them was handed out in nobody's name is passed at once where all
-- are settled: Valkey logs the handing out of each. Where some are not, all are handed out now, and those stay in hand.
local outcomes, dead = unpack(KEYS)
local line, group, main, behind_most, consumer, applied, through, count, all = unpack(ARGV)

if line ~= line_of_writes() then return 0 end

local function before(one, other)
  local ms, seq = string.match(one, '^(%d+)-(%d+)$')
  local other_ms, other_seq = string.match(other, '^(%d+)-(%d+)$')
  if ms == other_ms then return tonumber(seq) < tonumber(other_seq) end
  return tonumber(ms) < tonumber(other_ms)
end

local own
local function list_groups()
  local found = redis.call('XINFO', 'GROUPS', outcomes)
  for n, info in ipairs(found) do
    local of = {}
    for i = 1, #info, 2 do of[info[i]] = info[i + 1] end
    found[n] = of
    if of['name'] == group then own = of end
  end
  return found
end

local groups, in_hand = list_groups(), 0
if own then
  in_hand = own['pending']
  if before(own['last-delivered-id'], through) and all == '1' then
    redis.call('XGROUP', 'SETID', outcomes, group, through)
    own['last-delivered-id'] = through
  elseif before(own['last-delivered-id'], through) then
    redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', count, 'STREAMS', outcomes, '>')
    in_hand = in_hand + count
  end
end

local ids = {}
for id in string.gmatch(applied, '%S+') do ids[#ids + 1] = id end
if #ids > 0 and in_hand > 0 then redis.call('XACK', outcomes, group, unpack(ids)) end
for i = 10, #ARGV, 3 do
  local entry = redis.call('XRANGE', outcomes, ARGV[i], ARGV[i])[1]
  if redis.call('XACK', outcomes, group, ARGV[i]) == 1 and entry then
    local fields = entry[2]
    fields[#fields + 1] = 'error'
    fields[#fields + 1] = ARGV[i + 1]
    fields[#fields + 1] = 'tries'
    fields[#fields + 1] = ARGV[i + 2]
    redis.call('XADD', dead, '*', unpack(fields))
  end
end

-- The first entry that a group still needs: its first pending one, else the last that it was given. A group beside the
-- main one that is far behind is not waited for.
local first
local is_long = redis.call('XLEN', outcomes) > tonumber(behind_most)
for _, of in ipairs(in_hand > 0 and list_groups() or groups) do
  local needed = of['last-delivered-id']
  if of['pending'] > 0 then needed = redis.call('XPENDING', outcomes, of['name'])[2] end
  if (of['name'] == main or not is_long) and (not first or before(needed, first)) then first = needed end
end
if first then redis.call('XTRIM', outcomes, 'MINID', first) end
return 1
