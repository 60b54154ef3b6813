-- Note which line of servers this is, and when it last changed (microseconds; 0: never seen): by a failover; after a
-- blank, when an operator last said that the server was restored from a backup; then, when it last came back without
-- having been stopped, after a crash or a power cut, which may have taken the end of its log.
-- A restarted server has a new id, but remembers no line before its own; a promoted replica does.
local known = KEYS[1]

local replication = redis.call('INFO', 'replication')
local id = string.match(replication, 'master_replid:(%x+)')
local before = string.match(replication, 'master_replid2:(%x+)')
local noted = redis.call('HMGET', known, 'id', 'failed_over', 'restored', 'crashed', 'stopped')
local failed_over, restored, crashed = noted[2] or '0', noted[3] or '0', noted[4] or '0'
if not id then return redis.error_reply('ERR INFO replication shows no master_replid') end
if noted[1] ~= id then
  local promoted = before and string.match(before, '[^0]')
  if noted[1] and promoted then failed_over = int(now_us()) end
  if noted[1] and not promoted and noted[5] ~= noted[1] then crashed = int(now_us()) end
  redis.call('HSET', known, 'id', id, 'failed_over', failed_over, 'crashed', crashed)
end
return failed_over .. ' ' .. restored .. ' ' .. crashed
