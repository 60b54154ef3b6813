-- A task is safe in the archive (or there is none): it leaves Redis, its details first. Repeat it freely.
local unarchived, record, journal, ledger, events, approvals, push = unpack(KEYS)
local member, journal_seconds, detail, retention = unpack(ARGV)

if redis.call('ZREM', unarchived, member) == 0 then return 0 end
redis.call('EXPIRE', record, retention)
redis.call('EXPIRE', push, retention)
redis.call('EXPIRE', journal, journal_seconds) -- at once, if that is 0
for _, key in ipairs({ledger, events, approvals}) do redis.call('EXPIRE', key, detail) end
return 1
