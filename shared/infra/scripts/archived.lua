-- A task is safe in the archive (or there is none): it leaves Redis, its details first. Repeat it freely.
-- ``alias``: the task's name, if it still leads to its ``place``; on a cluster it is not among the keys.
local unarchived, record, journal, ledger, events, approvals, push, alias = unpack(KEYS)
local member, journal_seconds, detail, retention, place = unpack(ARGV)

if redis.call('ZREM', unarchived, member) == 0 then return 0 end
redis.call('EXPIRE', record, retention)
redis.call('EXPIRE', push, retention)
redis.call('EXPIRE', journal, journal_seconds) -- at once, if that is 0
for _, key in ipairs({ledger, events, approvals}) do redis.call('EXPIRE', key, detail) end
if alias and redis.call('GET', alias) == place then redis.call('EXPIRE', alias, retention) end
return 1
