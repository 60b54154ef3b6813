-- The newest tasks of some lists, no more than ``count``, after the place where the last page ended; and how many there
-- are. A place is a score and a task. Reads only.
local count, score, task, since = unpack(ARGV)

local found = {}
local function take(rows, below)
  for i = 1, #rows, 2 do
    if not below or rows[i] < below then found[#found + 1] = {rows[i], rows[i + 1]} end
  end
end

local total = 0
for _, list in ipairs(KEYS) do
  total = total + redis.call('ZCOUNT', list, since, '+inf')
  local newest = '+inf'
  if score ~= '' then
    newest = '(' .. score
    take(redis.call('ZREVRANGEBYSCORE', list, score, score, 'WITHSCORES'), task)
  end
  take(redis.call('ZREVRANGEBYSCORE', list, newest, since, 'WITHSCORES', 'LIMIT', 0, count))
end
table.sort(found, function(a, b)
  if a[2] ~= b[2] then return tonumber(a[2]) > tonumber(b[2]) end
  return a[1] > b[1]
end)

local reply = {total}
for i = 1, math.min(#found, tonumber(count)) do
  reply[#reply + 1] = found[i][1]
  reply[#reply + 1] = int(tonumber(found[i][2]))
end
return reply
