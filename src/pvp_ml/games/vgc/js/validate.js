// Judges teams: reads JSON {format: {name: PokePaste text}} on stdin, prints {format: {name: [sentence, …]}}.
'use strict';

const fs = require('fs');
const {Teams, TeamValidator} = require('./simulator');

function judge(format, text) {
  const team = Teams.import(text);
  if (!team || !team.length) return ['This is not a team: no Pokémon could be read.'];
  return TeamValidator.get(format).validateTeam(team) || [];
}

const asked = JSON.parse(fs.readFileSync(0, 'utf8'));
const answer = {};
for (const [format, teams] of Object.entries(asked)) {
  answer[format] = Object.fromEntries(Object.entries(teams).map(([name, text]) => [name, judge(format, text)]));
}
process.stdout.write(JSON.stringify(answer));
