// DemoFeatures
