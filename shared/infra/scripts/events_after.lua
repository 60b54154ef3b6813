-- The events after an id, so many at most, and before them: the oldest id that is kept, '1' if none was ever dropped.
local after, count = unpack(ARGV)
local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)
if not oldest[1] then return {'', '1'} end
local info, found = redis.call('XINFO', 'STREAM', KEYS[1]), {}
for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
local reply = {oldest[1][1], found['entries-added'] == found['length'] and '1' or '0'}
for _, row in ipairs(redis.call('XRANGE', KEYS[1], '(' .. after, '+', 'COUNT', count)) do
  reply[#reply + 1] = row[1]
  reply[#reply + 1] = row[2][2]
end
return reply
