-- What is known of a task's events: the oldest and the newest id that are kept ('' if there are none), '1' if none was
-- ever dropped, and those after an id, so many at most. Before them its record, as it stands with them: '' if there is
-- none, or if it is not among the keys. Reads only.
local events, record = unpack(KEYS)
local after, most = unpack(ARGV)

local reply = {record and redis.call('HGET', record, 'json') or '', '', '', '0'}
if redis.call('EXISTS', events) == 0 then return reply end
local info, found = redis.call('XINFO', 'STREAM', events), {}
for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
reply[2], reply[3] = found['first-entry'] and found['first-entry'][1] or '', found['last-generated-id']
if found['entries-added'] == found['length'] then reply[4] = '1' end
if most == '0' then return reply end
for _, row in ipairs(redis.call('XRANGE', events, '(' .. after, '+', 'COUNT', most)) do
  reply[#reply + 1], reply[#reply + 2] = row[1], row[2][2]
end
return reply
