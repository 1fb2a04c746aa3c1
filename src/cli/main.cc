#include "cli/app.h"

int main(int argc, char** argv) {
  return stoker::cli::RunApp(argc, argv);
}
