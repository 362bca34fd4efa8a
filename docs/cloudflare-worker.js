// Forwards Cloudflare Email Sending events from a queue to mailward.
//
// Cloudflare posts no webhooks: an event subscription of a sending domain fills a queue. This Worker consumes that queue,
// signs every event as Standard Webhooks demands, posts it, and acknowledges it only when mailward has it (200).
//
// Variables of the Worker:
//   MAILWARD_URL     the address of mailward's door, such as https://mailward.example.com/webhooks/cloudflare
//   MAILWARD_SECRET  a secret (wrangler secret put): whsec_ and base64, the same as mailward's CLOUDFLARE_WEBHOOK_SECRETS
//
// Give the consumer a dead-letter queue and generous max_retries: with the delays below, 20 retries last four days.

const FIRST_DELAY_S = 10;
const LONGEST_DELAY_S = 12 * 60 * 60; // the queue accepts no longer one
const PATIENCE_MS = 10_000; // mailward answers within 5 s, busy or not

export default {
  async queue(batch, env) {
    const key = await importKey(env.MAILWARD_SECRET);
    await Promise.all(batch.messages.map((message) => forward(message, env.MAILWARD_URL, key)));
  },
};

// One event, one post, one answer to the queue; another event's failure changes nothing here.
async function forward(message, url, key) {
  let retryAfterS = 0;
  try {
    const { id, body } = asPost(message);
    const headers = { "content-type": "application/json", ...(await sign(key, id, Math.floor(Date.now() / 1000), body)) };
    const answer = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(PATIENCE_MS) });
    if (answer.status === 200) {
      message.ack();
      return;
    }
    retryAfterS = Number(answer.headers.get("retry-after")) || 0;
    // 401: the secrets differ. 404: mailward has no secret. Both are mended by people, so the event waits.
    console.error(`mailward answered ${answer.status}; the event is tried again`);
  } catch (error) {
    console.error(`mailward was not reached: ${error}`);
  }
  message.retry({ delaySeconds: Math.max(retryAfterS, delayS(message.attempts)) });
}

// The body is written once: these very bytes are signed and sent. Whichever content type the subscription uses, the
// event itself is JSON text. The event's own id stays the same over retries; the queue's message id is the fallback.
function asPost(message) {
  const content = message.body;
  const isBytes = content instanceof ArrayBuffer || ArrayBuffer.isView(content);
  const text = isBytes ? new TextDecoder().decode(content) : typeof content === "string" ? content : JSON.stringify(content);
  const event = isBytes || typeof content === "string" ? parsed(text) : content;
  const id = String(event?.payload?.eventId || message.id).replace(/[^A-Za-z0-9_-]/g, "_");
  return { id, body: new TextEncoder().encode(text) };
}

// Text that is no JSON is forwarded too: mailward keeps it for people to look at.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function delayS(attempts) {
  return Math.min(FIRST_DELAY_S * 2 ** Math.max(attempts - 1, 0), LONGEST_DELAY_S);
}

// Standard Webhooks: HMAC-SHA256 over id, timestamp and body, joined by dots.
async function sign(key, id, timestamp, body) {
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(start.length + body.length);
  signed.set(start);
  signed.set(body, start.length);
  const digest = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
  const signature = btoa(String.fromCharCode(...digest));
  return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": `v1,${signature}` };
}

async function importKey(secret) {
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (character) => character.charCodeAt(0));
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}
