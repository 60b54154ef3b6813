-- Note that a request to forget is carried out, if this is the server on which everything was removed: one that took over
-- since may have it still (0). Without a request it says the line of writes that it continues.
local forgets = KEYS[1]
local line, request_id, request = unpack(ARGV)

if not line then return line_of_writes() end
if line ~= line_of_writes() then return 0 end
redis.call('HSET', forgets, request_id, request)
return 1
