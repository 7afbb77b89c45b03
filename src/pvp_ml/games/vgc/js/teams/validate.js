// Prepares and judges teams: reads JSON {format: {name: text}} on stdin, prints {format: {name: {packed, problems,
// completed}}}.
'use strict';

const fs = require('fs');
const {prepare} = require('./teams');

const asked = JSON.parse(fs.readFileSync(0, 'utf8'));
const answer = {};
for (const [format, teams] of Object.entries(asked)) {
  answer[format] = Object.fromEntries(Object.entries(teams).map(([name, text]) => [name, prepare(format, text)]));
}
process.stdout.write(JSON.stringify(answer));
