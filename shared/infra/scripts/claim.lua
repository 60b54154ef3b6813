-- Begin a session's next turn, and say everything that is stored of its task: signals go first; while the tenant is
-- stopped, only cancels are begun. The turn stays queued until it is finished.
-- Without a fence the session's lease is taken, if it is free or over; the fence grows with every owner. If the
-- caller already holds it, the reply to an earlier claim was lost: it is taken again under a new fence. ``owner_gone`` is said of a
-- claim that put right that an owner was lost. With a fence the lease is the caller's, and was kept after a turn.
-- Where nothing is to be begun the lease is given back in the same step, so no turn falls between (I6). What waits for a
-- stopped tenant to go on is looked at much later, or when the stop ends.
local lease, inbox, signals, turns, begun, waiting, leased, session, open, idle, stopped = unpack(KEYS)
local owner, fence, lease_ms, member, owner_gone, stopped_ms, retention = unpack(ARGV)

local now = now_ms()
local last_owner, ends, last_fence = unpack(redis.call('HMGET', lease, 'owner', 'until', 'fence'))
local lives = ends and tonumber(ends) > now
if fence == '' then
  if lives and last_owner ~= owner then return false end
  if lives and again then fence = last_fence end
elseif not holds(lease, owner, fence) then
  if again and not last_owner then return false end
  return {'lost'}
end

local turn_id, turn, reason = nil, nil, stop_reason(stopped)
repeat
  turn_id = next_turn(signals, inbox, begun, reason)
  turn = turn_id and redis.call('HGET', turns, turn_id)
  if turn_id and not turn then -- an id whose turn is done: left standing, it would hold up the session for good
    redis.call('LREM', signals, 1, turn_id)
    redis.call('LREM', inbox, 1, turn_id)
  end
until turn or not turn_id
if not turn then
  redis.call('ZREM', waiting, member)
  release_lease(lease, has_turns(inbox, signals), waiting, leased, session, open, idle, member, stopped_ms, retention)
  return false
end

local mended = ''
if fence == '' then
  if last_owner then mended = owner_gone end
  fence = int((last_fence or 0) + 1)
  redis.call('HSET', lease, 'fence', fence, 'owner', owner, 'until', int(now + lease_ms))
  redis.call('ZREM', waiting, member)
  redis.call('ZADD', leased, int(now + lease_ms), member)
end
local known = redis.call('HMGET', begun, 'now', turn_id, turn_id .. ':at', turn_id .. ':error', turn_id .. ':of')
local running, tries, accepted, problem, of = unpack(known)
local attempts = (tries or 0) + (again and running == fence .. ' ' .. turn_id and 0 or 1)
redis.call('HSET', begun, turn_id, int(attempts), 'now', fence .. ' ' .. turn_id)
local waited = now_us() - tonumber(accepted or now_us())
local state = redis.call('HMGET', session, 'state', 'evicted', 'owner')

-- ``of`` begins the names of the task's keys, which lie in the session's slot.
local task = {}
if of then
  local record = redis.call('HMGET', of .. 'record', 'json', 'version', 'outcome')
  local approvals = of .. 'approvals'
  local latest = redis.call('HGET', approvals, 'latest')
  local approval = latest and redis.call('HGET', approvals, latest) or ''
  local journal, ledger = redis.call('XRANGE', of .. 'journal', '-', '+'), redis.call('HGETALL', of .. 'ledger')
  task = {record[1] or '', record[2] or '', approval, journal, ledger, record[3] or ''}
end
return {
  fence, mended, turn, attempts, int(waited), problem or '', turn_id, task,
  {state[1] or '', state[2] or '', state[3] or ''}, pulse(signals, turns, reason),
}
