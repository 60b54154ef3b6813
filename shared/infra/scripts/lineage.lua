-- Note which line of servers this is, and when it last changed by a failover (microseconds; 0: never seen). After a
-- blank: when an operator last said that the server was restored from a backup.
-- A restarted server has a new id too, but remembers no line before its own; a promoted replica does.
local known = KEYS[1]

local replication = redis.call('INFO', 'replication')
local id = string.match(replication, 'master_replid:(%x+)')
local before = string.match(replication, 'master_replid2:(%x+)')
local noted = redis.call('HMGET', known, 'id', 'failed_over', 'restored')
local restored = ' ' .. (noted[3] or '0')
if not id then return redis.error_reply('ERR INFO replication shows no master_replid') end
if noted[1] == id then return (noted[2] or '0') .. restored end
local failed_over = noted[2] or '0'
if noted[1] and before and string.match(before, '[^0]') then failed_over = int(now_us()) end
redis.call('HSET', known, 'id', id, 'failed_over', failed_over)
return failed_over .. restored
