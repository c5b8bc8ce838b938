-- Slurm's job_submit plug-in that asks `linkcast serve` (docs/schedulers.md): copy it beside slurm.conf, or its functions
-- into the site's own. The environment of slurmctld may say LINKCAST_URL and LINKCAST_GPU_TYPE instead of these lines.
local URL = os.getenv("LINKCAST_URL") or "http://127.0.0.1:8090"
-- Where gres.conf gives each GPU a type of its own ("g%d": g0, g1, ...) the job asks for the chosen ones by type. Empty:
-- Slurm takes which GPUs it likes, and the chosen ones are in AdminComment.
local GPU_TYPE = os.getenv("LINKCAST_GPU_TYPE") or ""
local LONGEST_S = 2 -- of an answer: slurmctld waits

local NO_VAL = 4294967294 -- slurm.h

local function quoted(text)
  return '"' .. text:gsub('[%c"\\]', function(c) return string.format("\\u%04x", c:byte()) end) .. '"'
end

-- The service's answer and its HTTP status; 0: there was none.
local function ask(path, body)
  local name = os.tmpname()
  local file = io.open(name, "w")
  file:write(body)
  file:close()
  local pipe = io.popen(string.format("curl -sS -m %d -w '\\n%%{http_code}' --data-binary @%s '%s%s' 2>&1", LONGEST_S, name,
                                      URL, path))
  local answer, status = pipe:read("*a"):match("^(.*)\n(%d+)$")
  pipe:close()
  os.remove(name)
  return answer or "", tonumber(status) or 0
end

local function request_of(job_desc, part_list)
  local keys = { '"comment": ' .. quoted(job_desc.comment) }
  if job_desc.tres_per_node then keys[#keys + 1] = '"tres_per_node": ' .. quoted(job_desc.tres_per_node) end
  if job_desc.num_tasks and job_desc.num_tasks ~= NO_VAL then
    keys[#keys + 1] = string.format('"num_tasks": %d', job_desc.num_tasks)
  end
  for name, part in pairs(part_list) do
    if name == job_desc.partition or (job_desc.partition == nil and part.flag_default == 1) then
      keys[#keys + 1] = '"nodes": ' .. quoted(part.nodes)
    end
  end
  return "{" .. table.concat(keys, ", ") .. "}"
end

-- "gres:gpu:g4:1,gres:gpu:g5:1" for "4,5", written as the job wrote its own.
local function typed(gpus, asked)
  local list, prefix = {}, asked and asked:match("^gres[:/]") or "gres:"
  for number in gpus:gmatch("%d+") do
    list[#list + 1] = prefix .. "gpu:" .. string.format(GPU_TYPE, tonumber(number)) .. ":1"
  end
  return table.concat(list, ",")
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  local said = job_desc.comment ~= nil and job_desc.comment:find("linkcast:", 1, true)
  if not said then return slurm.SUCCESS end
  if job_desc.req_nodes ~= nil or (job_desc.min_nodes ~= NO_VAL and job_desc.min_nodes > 1) then
    slurm.log_user("linkcast: not placed: jobs of one node are, where no node is asked for")
    return slurm.SUCCESS
  end
  local answer, status = ask("/v1/slurm/place", request_of(job_desc, part_list))
  if status == 400 then -- the job is wrong, and would be whenever it is tried
    slurm.log_user("linkcast: %s", answer:match('"error":"(.*)"}') or answer)
    return slurm.ERROR
  end
  local node, gpus = answer:match('"node":"([%w._-]+)","gpus"'), answer:match('"CUDA_VISIBLE_DEVICES":"([%d,]+)"')
  if status ~= 200 or not node or not gpus then -- the service is down or busy, or no node has room: Slurm chooses
    slurm.log_info("linkcast: not placed: %s", answer:match('"waits":"([^"]*)"') or answer)
    return slurm.SUCCESS
  end
  job_desc.req_nodes = node
  job_desc.admin_comment = "linkcast:gpus=" .. gpus
  if GPU_TYPE ~= "" then job_desc.tres_per_node = typed(gpus, job_desc.tres_per_node) end
  slurm.log_info("linkcast: GPUs %s of %s", gpus, node)
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end
