#!/usr/bin/env bash
# Makes CTRF files by the reporters of four JavaScript runners and of pytest, of fixtures/ctrf; goldens.py packs them.
#   regenerate_ctrf.sh FOLDER     FOLDER/ctrf/
# The folder in which the tests ran is written as /suite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/ctrf"
out=$(cd "$1/ctrf" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/fixtures/ctrf/* "$work"
cd "$work"
npm init -y >/dev/null
npm install --silent jest jest-ctrf-json-reporter mocha mocha-ctrf-json-reporter vitest @d2t/vitest-ctrf-json-reporter \
    @playwright/test playwright-ctrf-json-reporter
options() { printf '{outputDir: "%s", outputFile: "%s.json"}' "$out" "$1"; }
echo "module.exports = {testMatch: ['**/jest.test.js'], reporters: [['jest-ctrf-json-reporter', $(options jest)]]}" > jest.config.js
echo "export default {test: {include: ['vitest.test.mjs'], reporters: [['@d2t/vitest-ctrf-json-reporter', $(options vitest)]]}}" > vitest.config.mjs
echo "module.exports = {testMatch: 'playwright.spec.js', retries: 1, projects: [{name: 'one'}],
    reporter: [['playwright-ctrf-json-reporter', $(options playwright)]]}" > playwright.config.js
npx jest || true
npx mocha mocha.spec.js --reporter mocha-ctrf-json-reporter --reporter-options "outputDir=$out,outputFile=mocha.json" || true
npx vitest run || true
npx playwright test || true
python3 -m venv venv
venv/bin/python -m pip install --quiet pytest==9.2.0 pytest-rerunfailures pytest-json-ctrf
venv/bin/python -m pytest -p no:cacheprovider --ctrf "$out/pytest.json" test_reruns.py || true
sed -i -e "s|$work|/suite|g" "$out"/*.json
