#!/usr/bin/env bash
# Installs @tensorflow/tfjs-node and builds its addon against the libraries of TensorFlow's Python package: its own
# download is TensorFlow 2.9, which is too old for tfsum's exports. Needs npm, a C++ compiler, make, and a Python with
# tensorflow; without a network also npm_config_nodedir=FOLDER, in which include/node has Node's headers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
npm install --ignore-scripts --no-fund --no-audit

tensorflow="${TENSORFLOW:-$(python3 -c 'import importlib.util as u; print(u.find_spec("tensorflow").submodule_search_locations[0])')}"
cd node_modules/@tensorflow/tfjs-node
rm -rf deps && mkdir -p deps/lib
ln -s "$tensorflow/include" deps/include
for name in cc framework; do
    ln -s "$tensorflow/libtensorflow_$name.so.2" deps/lib/
done
# The names that the addon is linked with; the C API is in libtensorflow_cc.
ln -s libtensorflow_cc.so.2 deps/lib/libtensorflow.so
ln -s libtensorflow_framework.so.2 deps/lib/libtensorflow_framework.so
npx --no-install node-pre-gyp install --build-from-source
