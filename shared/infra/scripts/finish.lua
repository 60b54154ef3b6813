-- End one turn: record, session, events, approval, timer and outcome in one step, and the turn leaves its queue.
-- A repeated finish changes nothing. An ended task stays as it ended; the turn leaves all the same.
-- ``letter``: of a turn that is given up, for the dead letters of its partition.
-- ``release``: the lease is given back in the same step, unless another turn is to be begun.
-- Behind its named keys are the tenant's days, and behind its named arguments what the turn's calls did cost, for each of
-- these days (see ``settle_and_reserve``). They lie in another slot: on a cluster there are none.
local lease, signals, turns, inbox, begun, session, open = unpack(KEYS, 1, 7)
local record, events, approvals, journal, timers, outcomes, unarchived, asked, notices = unpack(KEYS, 8, 16)
local waiting, leased, idle, dead_turns, stopped = unpack(KEYS, 17, 21)
local owner, fence, kept, turn_id, task_id, version, json, state, ended = unpack(ARGV, 1, 9)
local session_state, approval_id, approval, timer, due, event_id, outcome, member, detail = unpack(ARGV, 10, 18)
local settled_id, settled, deadline, seconds, notice_members, trace, steps = unpack(ARGV, 19, 25)
local release, mine, stopped_ms, retention, letter, kept_days, count, event_entry = unpack(ARGV, 26, 33)

local function ended_turn(was_last)
  if release == '0' or not was_last and next_turn(signals, inbox, begun, stop_reason(stopped)) then return {'ok', 'kept'} end
  local waits = not was_last and has_turns(inbox, signals)
  release_lease(lease, waits, waiting, leased, session, open, idle, mine, stopped_ms, retention)
  return {'ok', 'released'}
end

local function keep_session()
  if session_state == '' then
    redis.call('HSET', session, 'last', task_id)
  else
    redis.call('HSET', session, 'last', task_id, 'state', session_state)
    redis.call('HDEL', session, 'evicted')
  end
end

-- The question that is over is asked no more; the present one is, while it waits.
local function change_question()
  if settled_id ~= '' then
    redis.call('HSET', approvals, settled_id, settled)
    remove_question(asked, settled_id, member, seconds)
  end
  if approval_id ~= '' then redis.call('HSET', approvals, approval_id, approval, 'latest', approval_id) end
  local latest = redis.call('HGET', approvals, 'latest')
  if approval_id ~= '' and deadline ~= '' then
    add_question(asked, approval_id, member, deadline)
  elseif latest and (approval_id ~= '' or ended == '1') then
    remove_question(asked, latest, member, seconds)
  end
end

-- A turn that came too late to matter says nothing: a doubt stays one until the task waits for something else.
local function note_doubt()
  if string.find(timer, '^[^:]*:[^:]*:[^:]*:doubt%%3A') then
    redis.call('ZADD', doubting_key(asked), 'NX', int(now_ms()), member)
  elseif state ~= 'input-required' or approval_id ~= '' then
    redis.call('ZREM', doubting_key(asked), member)
  end
end

local function queue_notices()
  for notice in string.gmatch(notice_members, '[^\n]+') do
    redis.call('ZADD', notices, int(now_ms()), notice)
    redis.call('PUBLISH', 'pa:notices', notices)
  end
end

local function charge_days()
  local at = 34
  for place = 22, #KEYS do
    local last = at + 4 * ARGV[at]
    settle_and_reserve(KEYS[place], kept_days, nil, at + 1, last, false)
    at = last + 1
  end
end

local is_stored = redis.call('HEXISTS', turns, turn_id) == 0
if not holds(lease, owner, fence) then
  local now_owner, now_fence = unpack(redis.call('HMGET', lease, 'owner', 'fence'))
  local released = again and is_stored and not now_owner and now_fence == fence
  return released and {'ok', 'released'} or {'lost'}
end
if is_stored then return ended_turn(false) end
local before = redis.call('HMGET', record, 'version', 'ended', 'outcome', 'listed', 'state')
local now_version, now_ended, emitted = unpack(before, 1, 3)
local emits = event_id ~= '' and now_ended and emitted ~= event_id
local row = emits and {'outcome', event_id} or {}
if now_ended == '0' then
  if now_version ~= version then return {'conflict'} end
  move_in_lists(before[4], before[5], state, ended)
  if steps ~= '' then redis.call('XADD', journal, '*', 'y', steps) end
  if letter ~= '' then
    redis.call('XADD', dead_turns, '*', 'letter', letter)
    row[#row + 1], row[#row + 2] = 'buried', turn_id
  end
  redis.call('HSET', record, 'json', json, 'version', version + 1, 'state', state, 'ended', ended, unpack(row))
  keep_session()
  change_question()
  note_doubt()
  queue_notices()
  if timer ~= '' then redis.call('ZADD', timers, due, timer) end
elseif emits then -- a script that was broken off has left the task ended, and nobody was told
  redis.call('HSET', record, unpack(row))
end
if emits then
  local fields = {'id', event_id, 'o', outcome}
  if trace ~= '' then fields[5], fields[6] = 't', trace end
  redis.call('XADD', outcomes, '*', unpack(fields))
end
charge_days()
append_events(events, kept, count, event_entry)
local was_last = end_turn(inbox, signals, turns, begun, turn_id)
if now_ended == '1' or (now_ended == '0' and ended == '1') then
  redis.call('SREM', open, task_id)
  -- Until it is archived nothing of it expires; afterwards a late turn's events must not stay for good.
  if now_ended == '0' then
    redis.call('ZADD', unarchived, int(now_ms()), member)
  elseif not redis.call('ZSCORE', unarchived, member) then
    redis.call('EXPIRE', events, detail)
  end
end
return ended_turn(was_last)
