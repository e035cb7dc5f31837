// SPDX-License-Identifier: BSD-2-Clause
// Tests that print TAP: test(name, body) one after the other, then finish(); the plan comes at the end of the
// process.
let planned = 0;
let failed = 0;
const waiting = [];

export function test(name, body) {
  waiting.push({ name, body });
}

export async function finish() {
  for (const { name, body } of waiting.splice(0)) {
    planned++;
    try {
      await body();
      console.log(`ok ${planned} - ${name}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${planned} - ${name}`);
      for (const line of String(error.stack || error).split('\n')) console.log(`# ${line}`);
    }
  }
}

process.on('exit', () => {
  console.log(`1..${planned}`);
  if (failed) process.exitCode = 1;
});
