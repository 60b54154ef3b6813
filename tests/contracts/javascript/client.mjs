// Run by Node with the official JavaScript SDK beside it: what a client does, over one binding, as JSON on one line.
//   node client.mjs URL JSONRPC|HTTP+JSON|LEGACY TOKEN WEBHOOK
import { randomUUID } from 'node:crypto';
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { SendMessageRequest, taskStateToJSON } from '@a2a-js/sdk';

const [url, binding, token, webhook] = process.argv.slice(2);
const fetchImpl = (input, init = {}) => {
  const headers = new Headers(init.headers);
  if (token) headers.set('Authorization', `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};
const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  preferredTransports: [binding],
});
const client = await new ClientFactory(options).createFromUrl(url);

const request = (text, more = {}, configuration = {}) =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
    configuration,
  });
const taskOf = (result) => result.task ?? result;
const state = (task) => taskStateToJSON(taskOf(task).status.state);
const refusal = async (act) => {
  try {
    await act();
    return null;
  } catch (error) {
    return error.constructor.name;
  }
};

const done = taskOf(await client.sendMessage(request('hello')));
const read = await client.getTask({ tenant: '', id: done.id });
const asked = taskOf(await client.sendMessage(request('ask')));
const config = { tenant: '', taskId: asked.id, id: 'mine', url: webhook, token: '', authentication: undefined };
const made = await client.createTaskPushNotificationConfig(config);
const hooks = await client.listTaskPushNotificationConfig({ tenant: '', taskId: asked.id, pageSize: 0, pageToken: '' });
await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: asked.id, id: made.id });
const canceled = await client.cancelTask({ tenant: '', id: asked.id, metadata: undefined });
const streamed = [];
for await (const event of client.sendMessageStream(request('hello again'))) {
  streamed.push(event.payload.$case);
}
const slow = taskOf(await client.sendMessage(request('hello', { messageId: `test-resubscribe-message-id-${randomUUID()}` }, { returnImmediately: true })));
const followed = [];
for await (const event of client.resubscribeTask({ tenant: '', id: slow.id })) {
  followed.push(event.payload.$case);
}
const listed = await client.listTasks({ tenant: '', contextId: done.contextId, status: 0, pageSize: 10, pageToken: '', historyLength: 0, statusTimestampAfter: undefined, includeArtifacts: false });
process.stdout.write(JSON.stringify({
  version: client.protocolVersion,
  states: [done, read, asked, canceled].map(state),
  text: done.artifacts[0].parts[0].content.value,
  webhooks: hooks.configs.map((one) => one.url),
  streamed: [streamed[0], streamed.at(-1)],
  followed: [followed[0], followed.at(-1)],
  listed: listed.tasks.map((task) => task.id === done.id),
  unknown: await refusal(() => client.getTask({ tenant: '', id: 'nobody' })),
}) + '\n');
