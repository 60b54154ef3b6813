-- A task's record, and the ids of the oldest and the newest event that are kept; '1' if none was ever dropped.
local record, events = unpack(KEYS)
local json = redis.call('HGET', record, 'json')
if not json then return {} end
if redis.call('EXISTS', events) == 0 then return {json, '', '', '0'} end
local info, found = redis.call('XINFO', 'STREAM', events), {}
for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
local oldest = found['first-entry'] and found['first-entry'][1] or ''
local whole = found['entries-added'] == found['length'] and '1' or '0'
return {json, oldest, found['last-generated-id'], whole}
