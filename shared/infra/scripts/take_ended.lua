-- Take ended tasks of one partition that are to be archived, for a while, with everything that is known of each, or only
-- its name; one that cannot be read has no more than that.
-- A task's keys are named after its place in the set, and lie in its slot.
local unarchived = unpack(KEYS)
local most, claim_ms, whole = unpack(ARGV)

if redis.call('EXISTS', unarchived) == 0 then return {} end
local now = now_ms()
local members = redis.call('ZRANGEBYSCORE', unarchived, '-inf', int(now), 'LIMIT', 0, most)

local function read(stem)
  local record = whole == '1' and redis.call('HGET', stem .. 'record', 'json')
  if not record then return {} end
  return {
    record, redis.call('XRANGE', stem .. 'journal', '-', '+'), redis.call('HGETALL', stem .. 'ledger'),
    redis.call('HGETALL', stem .. 'approvals'), redis.call('XRANGE', stem .. 'events', '-', '+'),
  }
end

local reply = {}
for _, member in ipairs(members) do
  -- A claim of seconds is worth no place in the log: after a restart whoever comes first takes the task.
  pcall(redis.set_repl, redis.REPL_NONE)
  redis.call('ZADD', unarchived, 'XX', int(now + claim_ms), member)
  pcall(redis.set_repl, redis.REPL_ALL)
  local tenant, task = string.match(member, '^([^:]*):[^:]*:([^:]*)$')
  local readable, found = pcall(read, string.match(unarchived, '^pa:{p%d+}:') .. 't:' .. tenant .. ':' .. task .. ':')
  reply[#reply + 1] = {member, readable and 'ok' or (type(found) == 'table' and found.err or tostring(found)), readable and found or {}}
end
return reply
