-- Note that a request to forget is carried out (1), if this is the server on which everything was removed: one that took
-- over since may have it still (0).
local forgets = KEYS[1]
local line, request_id, request = unpack(ARGV)

if line ~= line_of_writes() then return 0 end
redis.call('HSET', forgets, request_id, request)
return 1
