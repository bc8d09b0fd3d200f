// A web app with a flaw for each rule. A flaw is there while the file FLAWS has its name.
'use strict';

const express = require('express');
const fs = require('fs');
const http = require('http');
const { Pool } = require('pg');

const pool = new Pool({ host: process.env.PGHOST, user: 'postgres', database: 'postgres' });
const flawed = (name) => fs.readFileSync(process.env.FLAWS, 'utf8').split('\n').includes(name);
const rows = async (text, values) => (await pool.query(text, values)).rows;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const app = express();

// The end of the app, which is started again.
app.get('/healthz', (req, res) => {
  res.send('well');
  if (flawed('end')) res.on('close', () => process.exit(0));
});

app.get('/n1', async (req, res) => {
  const names = [];
  if (flawed('n1')) {
    for (let id = 1; id <= 7; id++) names.push(...(await rows('SELECT name FROM items WHERE id = $1', [id])));
  } else {
    names.push(...(await rows('SELECT name FROM items WHERE id = ANY($1)', [[1, 2, 3, 4, 5, 6, 7]])));
  }
  res.json({ names: names.length });
});

app.get('/redundant-query', async (req, res) => {
  const [first] = await rows('SELECT max(name) AS most FROM items');
  const [second] = flawed('redundant-query') ? await rows('SELECT max(name) AS most FROM items') : [first];
  res.json({ most: second.most });
});

app.get('/query-heavy', async (req, res) => {
  await rows('SELECT min(price) FROM items');
  if (flawed('query-heavy')) {
    for (const what of ['avg', 'sum', 'max', 'count', 'variance', 'stddev']) {
      await rows(`SELECT ${what}(price) FROM items`);
      await rows(`SELECT ${what}(id) FROM items`);
    }
  }
  res.json({});
});

app.get('/select-star', async (req, res) => {
  res.json(await rows(flawed('select-star') ? 'SELECT * FROM items LIMIT 2' : 'SELECT name FROM items LIMIT 2'));
});

app.get('/regression', async (req, res) => {
  await rows('SELECT count(name) FROM items');
  if (flawed('regression')) {
    await rows('SELECT count(price) FROM items');
    await rows('SELECT sum(id) FROM items');
  }
  res.json({});
});

const own = { a: 'SELECT name FROM items WHERE id = 1', b: 'SELECT price FROM items WHERE id = 1', c: 'SELECT id FROM items WHERE id = 1' };
app.get('/cross/:part', async (req, res) => {
  if (flawed('cross-endpoint')) await rows('SELECT theme FROM settings');
  res.json(await rows(own[req.params.part]));
});

app.get('/slow', async (req, res) => {
  if (flawed('slow')) await pause(1500);
  res.json({});
});

app.get('/error', (req, res) => {
  if (flawed('error')) throw new TypeError('no item 17');
  res.json({});
});

app.get('/error-hotspot', (req, res) => {
  res.status(flawed('error-hotspot') ? 503 : 200).json({});
});

app.get('/sensitive-logs', (req, res) => {
  console.log(flawed('sensitive-logs') ? 'login with password=correct-horse-battery' : '\x1b[32mlogin\x1b[39m of user 7');
  res.json({});
});

app.get('/exposed-secret', (req, res) => {
  res.json(flawed('exposed-secret') ? { service: 'mail', apiKey: 'k3y-of-the-mail-service' } : { service: 'mail' });
});

app.get('/token-in-url', (req, res) => res.json({}));

const trace = () => new Error('no item 18').stack;
app.get('/stack-trace-leak', (req, res) => {
  res.status(400).type('text').send(flawed('stack-trace-leak') ? trace() : 'There is no such item.');
});
// Here the fix is that the request succeeds.
app.get('/stack-trace-leak/mended', (req, res) => {
  if (flawed('stack-trace-leak')) return res.status(400).type('text').send(trace());
  res.json({});
});
app.get('/stack-trace-leak/success', (req, res) => {
  res.json(flawed('stack-trace-leak') ? { ok: false, stack: trace() } : { ok: true });
});

app.get('/error-info-leak', async (req, res) => {
  try {
    await rows(`SELECT id FROM items WHERE id = 'x'`);
  } catch (err) {
    res.status(400).json({ message: flawed('error-info-leak') ? `${err.message} in: SELECT id FROM items WHERE id = 'x'` : 'The id must be a number.' });
  }
});

app.get('/insecure-cookie', (req, res) => {
  res.cookie('seen', 'yes', flawed('insecure-cookie') ? {} : { httpOnly: true, sameSite: 'lax' });
  res.json({});
});

app.get('/cors-credentials', (req, res) => {
  const allowed = flawed('cors-credentials') ? req.get('Origin') : 'https://app.example.com';
  res.set('Access-Control-Allow-Origin', allowed).set('Access-Control-Allow-Credentials', 'true').json({});
});

app.get('/response-pii-leak', (req, res) => {
  const people = [1, 2, 3].map((id) => (flawed('response-pii-leak') ? { id, email: `p${id}@example.com` } : { id }));
  res.json({ people });
});

app.get('/large-response', (req, res) => {
  const count = flawed('large-response') ? 12000 : 30;
  res.json(Array.from({ length: count }, () => ({ word: 'stone' })));
});

app.get('/response-overfetch', (req, res) => {
  const fields = flawed('response-overfetch') ? 14 : 3;
  res.json(Object.fromEntries(Array.from({ length: fields }, (_, i) => [`field${i}`, i])));
});

app.get('/page', (req, res) => res.type('html').send('<title>A page</title>'));
app.get('/api/duplicate', (req, res) => res.json({}));

// A call of the app to itself, whose step is below that of the request.
app.get('/self', async (req, res) => {
  const status = await new Promise((resolve, reject) => {
    http.get({ port: req.socket.localPort, host: '127.0.0.1', path: '/healthz' }, (r) => r.resume().on('end', () => resolve(r.statusCode))).on('error', reject);
  });
  await rows('SELECT name FROM items WHERE id = 2');
  res.json({ status });
});

app.use((err, req, res, next) => {
  res.status(500).json({ message: 'Something went wrong.' });
});

async function main() {
  await pool.query('CREATE TABLE IF NOT EXISTS items (id serial PRIMARY KEY, name text, price int)');
  await pool.query('CREATE TABLE IF NOT EXISTS settings (theme text)');
  await pool.query(`INSERT INTO items (name, price) SELECT 'item ' || n, n FROM generate_series(1, 7) n`);
  app.listen(process.env.PORT, '127.0.0.1');
}

main();
