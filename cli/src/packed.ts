/** Entry point of the packed command. A checkout starts with bin/szafa.mjs instead. */
const LEAST_MAJOR = 26;

if (Number(process.versions.node.split('.')[0]) >= LEAST_MAJOR) {
  import('./main.ts').then(({ start }) => start());
} else {
  process.stderr.write(
    `szafa: this is Node ${process.versions.node}, but szafa needs Node ${LEAST_MAJOR} or later\n`,
  );
  process.stderr.write(`hint: install Node ${LEAST_MAJOR}, from https://nodejs.org or your distribution\n`);
  process.exitCode = 1;
}

export {};
